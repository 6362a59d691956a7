// expect: failed guest_error
// error: the reason
Promise.reject(new Error("the reason")); await new Promise(() => {});
