// expect: failed guest_error
// error: TypeError
return await tools.import({});
