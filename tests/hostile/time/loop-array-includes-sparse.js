// expect: failed timeout
// with: timeoutMs=100
const a = []; a.length = 2 ** 32 - 1; for (;;) a.includes(7);
