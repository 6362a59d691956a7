// expect: failed guest_error
eval("return 1");
