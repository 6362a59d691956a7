// expect: failed timeout
// with: timeoutMs=100
const s = "9".repeat(300000); for (;;) BigInt(s);
