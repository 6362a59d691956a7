// expect: failed timeout
// with: timeoutMs=100
await { get then() { for (;;); } };
