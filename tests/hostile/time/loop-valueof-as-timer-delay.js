// expect: failed timeout
// with: timeoutMs=100
setTimeout(() => {}, { valueOf() { for (;;); } });
