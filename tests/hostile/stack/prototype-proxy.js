// expect: failed guest_error
const p = new Proxy({}, { get: (t, k, r) => r[k] }); return Object.create(p).x;
