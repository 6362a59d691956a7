// expect: failed invalid_input
// with: escaped
const <U+200B>a = 1;
