// expect: failed output_limit_exceeded
console.log("x".repeat(5e6), "y".repeat(5e6));
