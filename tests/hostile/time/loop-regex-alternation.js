// expect: failed timeout
// with: timeoutMs=100
return /^(a|aa)+$/.test("a".repeat(60) + "b");
