// expect: failed invalid_input
const a: number = 1; return a;
