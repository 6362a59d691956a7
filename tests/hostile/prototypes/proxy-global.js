// expect: completed 3
globalThis.Proxy = null; return await tools.echo({ value: 3 });
