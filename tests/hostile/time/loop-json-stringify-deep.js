// expect: failed timeout
// with: timeoutMs=100
// why: the engine's circle check makes this quadratic, and polls nothing meanwhile
let o = {}; for (let i = 0; i < 30000; i++) o = { o };
for (;;) try { JSON.stringify(o); } catch {}
