// expect: failed guest_error
eval("[".repeat(200000) + "]".repeat(200000));
