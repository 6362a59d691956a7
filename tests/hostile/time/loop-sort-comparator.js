// expect: failed timeout
// with: timeoutMs=100
return [3, 2, 1].sort(() => { for (;;); });
