// expect: failed guest_error
const o = { toString() { return `${this}`; } }; return `${o}`;
