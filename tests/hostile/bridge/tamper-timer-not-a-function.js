// expect: failed guest_error
setTimeout("text('x')", 0);
