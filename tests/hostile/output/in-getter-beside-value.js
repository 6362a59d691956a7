// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// why: what a getter writes while the value is read counts before the value does
return { get a() { text("x".repeat(900)); return "y".repeat(900); } };
