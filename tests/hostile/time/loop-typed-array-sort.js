// expect: failed timeout
// with: timeoutMs=100
const a = new Float64Array(100000); for (;;) a.sort((x, y) => y - x);
