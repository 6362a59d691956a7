// expect: failed guest_error
eval("(()=>".repeat(50000) + "1" + ")".repeat(50000));
