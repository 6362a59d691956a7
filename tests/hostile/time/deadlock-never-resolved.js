// expect: failed guest_error
// error: nothing can settle
await new Promise(() => {});
