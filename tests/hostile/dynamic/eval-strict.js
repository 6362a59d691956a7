// expect: failed guest_error
eval("undeclared = 1");
