// expect: completed 3
const x = 1; return eval("x + 2");
