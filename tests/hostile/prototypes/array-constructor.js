// expect: completed [1]
globalThis.Array = null; return await tools.echo({ value: [1] });
