// expect: completed
const o = { a: 1, toJSON() { return this; } }; return o;
