// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let p = Promise.resolve(); for (;;) p = p.then(() => 1);
