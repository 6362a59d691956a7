// expect: failed guest_error
const e = new Error("a"), f = new Error("b", { cause: e }); e.cause = f; throw e;
