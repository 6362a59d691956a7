// expect: failed output_limit_exceeded
for (;;) text("x".repeat(100));
