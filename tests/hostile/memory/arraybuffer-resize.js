// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const b = new ArrayBuffer(8, { maxByteLength: 1e9 }); b.resize(1e9); return b.byteLength;
