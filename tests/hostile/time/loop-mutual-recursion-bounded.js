// expect: failed timeout
// with: timeoutMs=100
const a = (n) => (n ? b(n - 1) : 0), b = (n) => (n ? a(n - 1) : 0); for (;;) a(50);
