// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// output: ["first", "second", "third", "fourth"]
for (const name of ["first", "second", "third", "fourth"]) text(name);
return "x".repeat(1000);
