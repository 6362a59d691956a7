// expect: failed timeout
// with: timeoutMs=100
let n = 3n; for (;;) n = n ** 2n % (2n ** 4096n);
