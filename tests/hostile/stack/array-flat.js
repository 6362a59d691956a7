// expect: failed guest_error
let a = []; for (let i = 0; i < 100000; i++) a = [a]; return a.flat(Infinity).length;
