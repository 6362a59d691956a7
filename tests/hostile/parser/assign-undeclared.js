// expect: failed guest_error
undeclared = 1; return 1;
