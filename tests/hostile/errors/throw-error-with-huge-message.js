// expect: failed guest_error
throw new Error("m".repeat(1e7));
