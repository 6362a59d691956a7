// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let a = [1]; for (let i = 0; i < 26; i++) a = [a, a]; return a.flat(Infinity).length;
