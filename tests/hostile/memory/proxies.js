// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let p = {}; for (;;) p = new Proxy(p, {});
