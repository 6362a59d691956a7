// expect: failed guest_error
// error: SyntaxError
new Function("a = (() => {", "}) => {}) { return 1");
