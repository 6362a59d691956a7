// expect: failed guest_error
// error: lost
return { get a() { Promise.reject(new Error("lost")); return 1; } };
