// expect: failed invalid_input
const await = 1;
