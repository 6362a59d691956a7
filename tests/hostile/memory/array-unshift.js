// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const a = new Array(2e6).fill(1); a.unshift(...a); return a.length;
