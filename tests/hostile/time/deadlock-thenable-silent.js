// expect: failed guest_error
await { then() {} };
