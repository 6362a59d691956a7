// expect: failed timeout
// with: timeoutMs=100
const a = [1]; a.constructor = { [Symbol.species]: function () { for (;;); } }; return a.map((x) => x);
