// expect: completed 4294967295
// with: memoryLimitBytes=8388608
// why: a length is no memory
const a = []; a.length = 2 ** 32 - 1; return a.length;
