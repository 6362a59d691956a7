// expect: failed guest_error
// error: Error: real
Error.prepareStackTrace = (e, s) => { for (const f of s) f.getThis?.(); return "forged"; }; throw new Error("real");
