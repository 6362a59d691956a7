// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let e = null; for (;;) e = new Error("x", { cause: e });
