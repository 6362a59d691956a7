// expect: failed guest_error
// why: stack text is the program's to shape; a position counts only where the text has such a place
const e = new Error("x"); e.stack = "    at program (program:999999:1)\n"; throw e;
