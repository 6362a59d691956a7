// expect: failed guest_error
await { get then() { throw new Error("then"); } };
