// expect: failed guest_error
delete tools.call;
