// expect: failed timeout
// with: timeoutMs=100
const n: number = 1; while (n as boolean | number) {}
