// expect: completed 4294967295
// with: memoryLimitBytes=8388608
const a = []; a[2 ** 32 - 2] = 1; return a.length;
