// expect: failed output_limit_exceeded
// why: each is clipped to half of what is left, until that is too little
for (;;) { text("x".repeat(1e6)); json(["y".repeat(1e6)]); console.log("z".repeat(1e6)); }
