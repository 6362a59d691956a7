// expect: failed guest_error
return JSON.parse("[".repeat(500000));
