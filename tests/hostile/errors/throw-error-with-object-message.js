// expect: failed guest_error
const e = new Error(); e.message = { toString() { for (;;); } }; e.name = []; throw e;
