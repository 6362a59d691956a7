// expect: failed timeout
// with: timeoutMs=100
return "aaa".replace(/a/g, () => { for (;;); });
