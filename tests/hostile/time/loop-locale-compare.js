// expect: failed timeout
// with: timeoutMs=100
const s = "ä".repeat(10000); for (;;) s.localeCompare(s);
