// expect: failed guest_error
// error: more than the 16777216 allowed for one call
return await tools.echo({ value: "x".repeat(2e7) });
