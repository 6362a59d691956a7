// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const w = new WeakMap(), k = []; for (;;) { const o = {}; k.push(o); w.set(o, [1, 2, 3]); }
