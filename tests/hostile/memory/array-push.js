// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const a = []; for (;;) a.push(a.length);
