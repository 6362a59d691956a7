// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const s = new Set(); for (let i = 0; ; i++) s.add("k" + i);
