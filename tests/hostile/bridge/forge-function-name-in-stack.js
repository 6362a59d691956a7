// expect: failed guest_error
const o = { ["x (program:1:1)\n    at y"]() { throw new TypeError("z"); } }; o["x (program:1:1)\n    at y"]();
