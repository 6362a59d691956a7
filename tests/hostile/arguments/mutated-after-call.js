// expect: completed [1]
const a = [1]; const p = tools.echo({ value: a }); a.push(2); return await p;
