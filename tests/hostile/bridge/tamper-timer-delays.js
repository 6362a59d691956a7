// expect: completed 6
let n = 0; await Promise.all([NaN, -5, "1", null, undefined, 0.5].map((ms) => new Promise((r) => setTimeout(() => { n++; r(); }, ms)))); return n;
