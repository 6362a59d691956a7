// expect: failed timeout
// with: timeoutMs=100
console.log("a", { get x() { for (;;); } });
