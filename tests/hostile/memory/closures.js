// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let f = () => 0; for (;;) { const g = f; f = () => g; }
