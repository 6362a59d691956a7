// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return "ab".repeat(2e6).split("").length;
