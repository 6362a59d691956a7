// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
text("x".repeat(1020)); return "xxx";
