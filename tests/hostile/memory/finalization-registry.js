// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const r = new FinalizationRegistry(() => {}); const k = []; for (;;) { const o = {}; k.push(o); r.register(o, [1, 2, 3]); }
