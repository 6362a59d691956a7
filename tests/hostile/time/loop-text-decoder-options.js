// expect: failed timeout
// with: timeoutMs=100
new TextDecoder("utf-8", { get fatal() { for (;;); } });
