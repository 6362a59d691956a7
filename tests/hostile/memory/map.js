// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const m = new Map(); for (let i = 0; ; i++) m.set(i, i);
