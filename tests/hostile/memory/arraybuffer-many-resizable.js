// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; for (;;) k.push(new ArrayBuffer(1, { maxByteLength: 1 << 20 }));
