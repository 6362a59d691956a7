// expect: failed timeout
// with: timeoutMs=100
for (;;) "ab".repeat(1000);
