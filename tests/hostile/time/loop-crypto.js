// expect: failed timeout
// with: timeoutMs=100
for (;;) crypto.randomUUID();
