// expect: failed guest_error
let r; const p = new Promise((x) => { r = x; }); const q = p.then(() => q); r(); await q;
