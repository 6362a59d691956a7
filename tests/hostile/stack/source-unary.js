// expect: failed guest_error
return eval("!".repeat(500000) + "1");
