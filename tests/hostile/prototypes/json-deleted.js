// expect: completed [1]
delete globalThis.JSON; return await tools.echo({ value: [1] });
