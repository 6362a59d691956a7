// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const p = new URLSearchParams(); for (let i = 0; ; i++) p.append("k" + i, "v".repeat(50));
