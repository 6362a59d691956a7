// expect: failed timeout
// with: timeoutMs=100
const { a = (() => { for (;;); })() } = {};
