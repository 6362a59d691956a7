// expect: failed timeout
// with: timeoutMs=100
throw { toJSON() { for (;;); } };
