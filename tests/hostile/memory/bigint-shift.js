// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; for (let i = 0n; ; i++) k.push((1n << 1000000n) + i);
