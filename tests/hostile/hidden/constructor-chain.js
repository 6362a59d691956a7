// expect: completed "undefined"
const f = text.constructor.constructor; return f("return typeof process")();
