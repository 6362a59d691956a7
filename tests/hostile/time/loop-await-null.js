// expect: failed timeout
// with: timeoutMs=100
for (;;) await null;
