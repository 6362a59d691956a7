// expect: failed timeout
// with: timeoutMs=100
for (;;) { try { for (;;); } finally { continue; } }
