// expect: failed guest_error
throw Promise.resolve(1);
