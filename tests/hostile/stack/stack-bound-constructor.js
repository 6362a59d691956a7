// expect: completed "RangeError"
// why: each level uses the stack of compiled code and none of linear memory, which the engine watches
let f = function () {}; for (let i = 0; i < 200000; i++) f = Object.defineProperty(f.bind(), "name", { value: "" });
/* half-way */
try { new f(); } catch (e) { return e.name; }
