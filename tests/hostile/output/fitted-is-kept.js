// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// output: ["first"]
text("first"); text("x".repeat(5000)); text("never");
