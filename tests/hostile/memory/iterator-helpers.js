// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let it = [1].values(); for (;;) it = it.map((x) => x);
