// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = new Array(100000).fill(1); /* half-way */ for (;;) k.push(k.length);
