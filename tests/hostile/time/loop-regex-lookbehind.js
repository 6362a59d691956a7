// expect: failed timeout
// with: timeoutMs=100
return /(?<=^(?:a|aa)+x)z/.test("b" + "a".repeat(80) + "xz");
