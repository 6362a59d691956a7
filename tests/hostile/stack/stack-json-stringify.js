// expect: completed "RangeError"
// why: the engine's circle check is quadratic; all the levels that the stack has room for took half a minute
let a = []; for (let i = 0; i < 200000; i++) a = [a];
/* half-way */
try { JSON.stringify(a); } catch (e) { return e.name; }
