// expect: failed timeout
// with: timeoutMs=100
return "a".repeat(40).split(/(a+)+$|b/).length + ("a".repeat(40) + "!").search(/^(a+)+$/);
