// expect: failed guest_error
Object.setPrototypeOf(tools, { injected: 1 });
