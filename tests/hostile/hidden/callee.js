// expect: failed guest_error
return arguments.callee;
