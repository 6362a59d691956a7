// expect: failed timeout
// with: timeoutMs=100
const a = []; a[2 ** 32 - 2] = 1; return a;
