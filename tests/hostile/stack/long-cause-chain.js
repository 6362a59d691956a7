// expect: failed guest_error
let e = new Error("first"); for (let i = 0; i < 20000; i++) e = new Error("next", { cause: e }); throw e;
