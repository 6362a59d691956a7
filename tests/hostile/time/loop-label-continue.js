// expect: failed timeout
// with: timeoutMs=100
outer: for (;;) { for (;;) continue outer; }
