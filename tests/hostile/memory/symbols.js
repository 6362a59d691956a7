// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; for (;;) k.push(Symbol("x".repeat(100)));
