// expect: failed guest_error
Promise.reject(new Error("x")).finally(() => {}); return 1;
