// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
for (let i = 0, o = {}; ; i++) o["k".repeat(50) + i] = o;
