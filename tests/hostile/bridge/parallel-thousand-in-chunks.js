// expect: completed 1000
const out = []; for (let i = 0; i < 1000; i += 16) out.push(...(await Promise.all(Array.from({ length: Math.min(16, 1000 - i) }, (_, k) => tools.echo({ value: i + k })))));
return out.length;
