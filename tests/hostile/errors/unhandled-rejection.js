// expect: failed guest_error
// error: lost
Promise.reject(new Error("lost")); return 1;
