// expect: completed 20000
const o = {}; for (let i = 0; i < 20000; i++) o["k" + i] = i; return Object.keys(await tools.echo({ value: o })).length;
