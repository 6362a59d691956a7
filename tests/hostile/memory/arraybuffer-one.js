// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return new ArrayBuffer(1e9).byteLength;
