// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return JSON.parse("[" + "{},".repeat(500000) + "{}]").length;
