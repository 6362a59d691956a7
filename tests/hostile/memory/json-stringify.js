// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const big = "x".repeat(1e6); return JSON.stringify(new Array(100).fill(big)).length;
