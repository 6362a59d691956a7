// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return Math.max.apply(null, new Array(4e6).fill(1));
