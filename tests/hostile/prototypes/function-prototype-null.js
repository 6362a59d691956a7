// expect: completed 2
Object.setPrototypeOf(Function.prototype, null); return await tools.echo({ value: 2 });
