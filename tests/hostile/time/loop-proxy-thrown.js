// expect: failed timeout
// with: timeoutMs=100
throw new Proxy({}, { ownKeys() { for (;;); } });
