// expect: completed 3
// with: escaped
const a = 1;<U+2028>const b = 2;<U+2029>return a + b;
