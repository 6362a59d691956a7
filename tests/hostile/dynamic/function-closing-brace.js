// expect: failed guest_error
// error: SyntaxError
new Function("} escaped(); function x() {");
