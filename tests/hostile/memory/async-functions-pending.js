// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; const f = async (a) => { await new Promise(() => {}); return a; }; for (;;) k.push(f([1, 2, 3]));
