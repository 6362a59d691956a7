// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; for (;;) { const g = (function* () { const a = new Array(100).fill(1); yield a; })(); g.next(); k.push(g); }
