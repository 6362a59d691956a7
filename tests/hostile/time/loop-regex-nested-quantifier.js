// expect: failed timeout
// with: timeoutMs=100
return /(a*)*b/.test("a".repeat(32));
