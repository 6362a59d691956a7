// expect: completed {"k": 1}
globalThis.Object = undefined; return await tools.echo({ value: { k: 1 } });
