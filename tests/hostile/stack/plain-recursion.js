// expect: failed guest_error
// error: stack
function f() { return f() + 1; } return f();
