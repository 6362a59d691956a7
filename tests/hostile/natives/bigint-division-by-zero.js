// expect: failed guest_error
return 1n / 0n;
