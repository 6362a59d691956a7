// expect: completed ["[Circular]"]
const a = []; a.push(a); return await tools.echo({ value: a }).then((r) => r.length === 1 ? r : null);
