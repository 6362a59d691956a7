// expect: failed guest_error
// error: Error: x
Error.stackTraceLimit = { valueOf() { throw 1; } }; throw new Error("x");
