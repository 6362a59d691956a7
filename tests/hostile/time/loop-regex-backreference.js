// expect: failed timeout
// with: timeoutMs=100
return /^(.*)(.*)(.*)(.*)(.*)\1\2\3\4\5x$/.test("a".repeat(80));
