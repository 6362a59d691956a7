// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return Array.from("x".repeat(5e6)).length;
