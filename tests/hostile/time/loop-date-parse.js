// expect: failed timeout
// with: timeoutMs=100
for (;;) Date.parse("2020-01-01");
