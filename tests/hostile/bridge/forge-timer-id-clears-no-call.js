// expect: completed "real"
// why: calls and timers share numbers; clearTimeout touches timers only
const p = tools.echo({ value: "real" }); for (let i = 0; i < 100; i++) clearTimeout(i); return await p;
