// expect: failed timeout
// with: timeoutMs=100
return { toJSON() { for (;;); } };
