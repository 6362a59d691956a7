// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
for (;;) try { text("x".repeat(200)); } catch {}
