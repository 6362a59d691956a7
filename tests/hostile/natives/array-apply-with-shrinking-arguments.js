// expect: completed 3
const a = [1, 2, 3]; Object.defineProperty(a, 1, { get() { a.length = 0; return 2; } }); return Math.max.apply(null, [1, 2, 3]);
