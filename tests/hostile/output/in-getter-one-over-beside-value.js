// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// why: 975 + 25 bytes of an item, and a value of 25
return { get a() { text("x".repeat(975)); return "y".repeat(17); } };
