// expect: failed timeout
// with: timeoutMs=100
return Array.prototype.lastIndexOf.call(new Proxy({}, { get: (t, k) => (k === "length" ? 2 ** 53 - 1 : 0) }), 1);
