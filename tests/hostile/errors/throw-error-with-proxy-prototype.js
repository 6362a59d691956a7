// expect: failed guest_error
throw Object.setPrototypeOf(new Error("x"), new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } }));
