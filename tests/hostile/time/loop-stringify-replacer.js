// expect: failed timeout
// with: timeoutMs=100
return JSON.stringify([1], () => { for (;;); });
