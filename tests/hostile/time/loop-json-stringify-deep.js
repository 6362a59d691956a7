// expect: failed timeout
// with: timeoutMs=100
// why: the engine's circle check is quadratic, up to ten thousand levels
let o = {}; for (let i = 0; i < 30000; i++) o = { o };
for (;;) try { JSON.stringify(o); } catch {}
