// expect: failed timeout
// with: timeoutMs=100
return JSON.parse("[1]", () => { for (;;); });
