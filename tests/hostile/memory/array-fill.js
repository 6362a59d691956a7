// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return new Array(3e7).fill(0).length;
