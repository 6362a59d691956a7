// expect: failed timeout
// with: timeoutMs=100
await { then(resolve) { resolve(this); } };
