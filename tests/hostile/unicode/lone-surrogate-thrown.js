// expect: failed guest_error
throw "\ud800";
