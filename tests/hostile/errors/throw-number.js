// expect: failed guest_error
// error: 42
throw 42;
