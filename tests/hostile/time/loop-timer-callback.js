// expect: failed timeout
// with: timeoutMs=100
setTimeout(() => { for (;;); }); await new Promise(() => {});
