// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const m = new Map([[0, 0]]); let n = 0; for (const [k] of m) m.set(++n, n);
