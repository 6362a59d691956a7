// expect: failed timeout
// with: timeoutMs=100
const a = "a".repeat(1e6), b = "a".repeat(1e6) + "b"; for (;;) a === b;
