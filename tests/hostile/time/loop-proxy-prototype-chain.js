// expect: failed timeout
// with: timeoutMs=100
const p = new Proxy({}, { getPrototypeOf() { for (;;); } }); return p instanceof Object;
