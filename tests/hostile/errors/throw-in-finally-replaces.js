// expect: failed guest_error
// error: second
try { throw new Error("first"); } finally { throw new Error("second"); }
