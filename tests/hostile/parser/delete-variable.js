// expect: failed invalid_input
const a = 1; delete a;
