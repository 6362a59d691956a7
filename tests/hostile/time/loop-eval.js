// expect: failed timeout
// with: timeoutMs=100
eval("for (;;);");
