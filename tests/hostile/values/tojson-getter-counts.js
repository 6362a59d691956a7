// expect: completed {"n": 1}
let n = 0; return { get n() { return ++n; } };
