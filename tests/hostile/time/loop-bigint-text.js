// expect: failed timeout
// with: timeoutMs=100
// why: this native loop does not poll; the watchdog ends it
const n = (1n << 1000000n) - 1n; return n.toString(7);
