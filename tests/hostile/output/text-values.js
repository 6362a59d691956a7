// expect: completed null
// output: ["null", "null", "[1,\"a\"]", "{\"a\":1}", "1", "true", "\"12\""]
for (const v of [undefined, null, [1, "a"], { a: 1 }, 1, true, 12n]) text(v);
