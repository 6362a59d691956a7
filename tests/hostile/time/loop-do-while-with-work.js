// expect: failed timeout
// with: timeoutMs=100
let i = 0; do { i = (i * 31 + 7) % 1000003; } while (i >= 0);
