// expect: failed output_limit_exceeded
json("x".repeat(1e7));
