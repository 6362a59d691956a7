// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
text("x".repeat(995)); return "xxx";
