// expect: completed 200000
// with: memoryLimitBytes=8388608
// why: garbage is not held against a program
let n = 0; for (; n < 200000; n++) { const a = {}, b = { a }; a.b = b; }
return n;
