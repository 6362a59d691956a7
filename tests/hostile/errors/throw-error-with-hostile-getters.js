// expect: failed guest_error
const e = new Error("x"); for (const k of ["name", "message", "stack", "code", "cause"]) Object.defineProperty(e, k, { get() { for (;;); } }); throw e;
