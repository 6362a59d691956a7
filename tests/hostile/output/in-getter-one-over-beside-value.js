// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
return { get a() { text("x".repeat(1013)); return "yyyy"; } };
