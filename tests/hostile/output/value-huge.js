// expect: failed output_limit_exceeded
// error: 10000002 bytes
return "x".repeat(1e7);
