// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return "x".repeat(2 ** 30 - 25).length;
