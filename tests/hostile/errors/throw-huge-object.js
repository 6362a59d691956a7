// expect: failed guest_error
throw new Array(1e5).fill({ a: 1 });
