// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return String.raw({ raw: { length: 2 ** 53 - 1, 0: "x" } }).length;
