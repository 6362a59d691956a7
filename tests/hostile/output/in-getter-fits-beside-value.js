// expect: completed {"a": "yyyy"}
// with: maxOutputBytes=1024
return { get a() { text("x".repeat(987)); return "yyyy"; } };
