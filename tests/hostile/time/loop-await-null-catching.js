// expect: failed timeout
// with: timeoutMs=100
for (;;) { try { await null; } catch {} }
