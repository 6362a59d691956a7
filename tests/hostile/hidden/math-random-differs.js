// expect: completed true
const a = Math.random(), b = Math.random(); return a !== b && a >= 0 && a < 1;
