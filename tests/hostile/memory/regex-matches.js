// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return [..."ab".repeat(1e6).matchAll(/a/g)].length;
