// expect: failed guest_error
// error: TypeError
let r; const p = new Promise((x) => { r = x; }); r(p); await p;
