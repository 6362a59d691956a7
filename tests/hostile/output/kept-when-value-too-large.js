// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// output: ["kept"]
text("kept"); return "x".repeat(5000);
