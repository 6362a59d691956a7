// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
return { get a() { queueMicrotask(() => text("x".repeat(900))); return "y".repeat(900); } };
