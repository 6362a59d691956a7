// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return new Array(1e7).fill("0123456789").join("").length;
