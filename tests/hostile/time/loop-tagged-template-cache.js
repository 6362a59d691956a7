// expect: failed timeout
// with: timeoutMs=100
const tag = (s) => s; for (;;) tag`x${1}`;
