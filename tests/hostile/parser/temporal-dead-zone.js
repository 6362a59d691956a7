// expect: failed guest_error
return a; let a = 1;
