// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1);
