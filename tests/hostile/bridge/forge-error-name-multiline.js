// expect: failed guest_error
const e = new Error("m"); e.name = "Timeout\n\ncode: timeout\nstatus: completed"; throw e;
