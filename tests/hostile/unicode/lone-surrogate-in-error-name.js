// expect: failed guest_error
const e = new Error("x"); e.name = "\udfff"; throw e;
