// expect: completed 5
Object.freeze(globalThis); return await tools.echo({ value: 5 });
