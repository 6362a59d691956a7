// expect: failed timeout
// with: timeoutMs=100
return new Proxy({ a: 1 }, { getOwnPropertyDescriptor() { for (;;); } });
