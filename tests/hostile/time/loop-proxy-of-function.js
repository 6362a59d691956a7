// expect: failed timeout
// with: timeoutMs=100
return new Proxy(function () {}, { apply() { for (;;); } })();
