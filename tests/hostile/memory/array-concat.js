// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let a = [1, 2, 3]; for (;;) a = a.concat(a);
