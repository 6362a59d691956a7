// expect: completed 1
const o = { get value() { tools.echo({ value: "inner" }); return 1; } }; return await tools.echo(o);
