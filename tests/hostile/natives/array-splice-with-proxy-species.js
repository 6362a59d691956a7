// expect: completed "ok"
const a = [1, 2, 3]; a.constructor = { [Symbol.species]: function () { return new Proxy([], { defineProperty() { a.length = 0; return true; } }); } }; try { a.splice(0, 3); } catch {} return "ok";
