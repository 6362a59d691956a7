// expect: failed guest_error
throw Object.freeze(new Error("cold"));
