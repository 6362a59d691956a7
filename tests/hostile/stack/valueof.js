// expect: failed guest_error
const o = { valueOf() { return +this; } }; return +o;
