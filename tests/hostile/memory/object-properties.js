// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const o = {}; for (let i = 0; ; i++) o["p" + i] = i;
