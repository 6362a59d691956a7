// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let s = "ab"; for (;;) s = `${s}${s}${s}`;
