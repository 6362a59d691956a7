// expect: completed true
let a = 1; for (let i = 0; i < 190; i++) a = [a]; const r = await tools.echo({ value: a }); return Array.isArray(r);
