// expect: failed invalid_input
let a = 1; let a = 2;
