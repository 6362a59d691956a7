// expect: completed [{"a": 2}, {"a": 1}]
const x = await tools.echo({ value: { a: 1 } }); const y = await tools.echo({ value: { a: 1 } }); x.a = 2; return [x, y];
