// expect: failed timeout
// with: timeoutMs=100
return new Proxy({}, { get() { for (;;); } }).x;
