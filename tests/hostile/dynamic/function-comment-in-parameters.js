// expect: failed guest_error
new Function("/*", "*/) { return 1 }");
