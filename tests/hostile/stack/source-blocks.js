// expect: failed guest_error
eval("{".repeat(100000) + "}".repeat(100000));
