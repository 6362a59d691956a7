// expect: failed timeout
// with: timeoutMs=100
await { then() { for (;;); } };
