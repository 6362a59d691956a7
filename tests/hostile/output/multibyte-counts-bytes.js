// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
text("é".repeat(600));
