// expect: failed guest_error
let p = {}; for (let i = 0; i < 50000; i++) p = new Proxy(p, {}); return p.x;
