// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const keep = []; for (;;) keep.push("x".padEnd(1e6, "ab" + keep.length));
