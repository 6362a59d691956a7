// expect: failed guest_error
const e = new Error("x"); e.name = "n".repeat(1e6); throw e;
