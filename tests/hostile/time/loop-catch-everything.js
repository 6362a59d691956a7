// expect: failed timeout
// with: timeoutMs=100
// why: the interruption is no exception that a program can keep
for (;;) { try { for (;;); } catch {} }
