// expect: completed {"a": 1}
// why: resolving with an object asks it for then; what a program put on the prototype runs in the program only
let seen = 0; Object.defineProperty(Object.prototype, "then", { get() { seen++; return undefined; }, configurable: true });
const r = await tools.echo({ value: { a: 1 } }); delete Object.prototype.then; return r;
