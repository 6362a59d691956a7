// expect: failed guest_error
const h = {}; const p = new Proxy({}, h); h.get = (t, k) => p[k]; return p.x;
