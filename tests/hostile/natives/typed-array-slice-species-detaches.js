// expect: completed "ok"
const u = new Uint8Array(64); u.constructor = { [Symbol.species]: function (n) { u.buffer.transfer(); return new Uint8Array(n); } }; try { u.slice(); } catch {} return "ok";
