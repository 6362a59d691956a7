// expect: failed timeout
// with: timeoutMs=100
new Function("for (;;);")();
