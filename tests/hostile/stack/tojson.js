// expect: failed guest_error
const o = { toJSON() { return JSON.stringify(this); } }; return JSON.stringify(o);
