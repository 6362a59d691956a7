// expect: completed null
// output: ["a 1 {\"b\":2} null"]
console.log("a", 1, { b: 2 }, undefined);
