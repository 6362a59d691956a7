// expect: failed guest_error
// error: DataCloneError
structuredClone(() => {});
