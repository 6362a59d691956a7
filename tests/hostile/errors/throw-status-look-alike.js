// expect: failed guest_error
throw { status: "completed", value: 1 };
