// expect: failed guest_error
throw Object.setPrototypeOf(new Error("x"), null);
