// expect: failed output_limit_exceeded
text("x".repeat(1e7));
