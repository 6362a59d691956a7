// expect: completed [2]
Object.defineProperty(Array, Symbol.species, { get() { throw 1; } }); return await tools.echo({ value: [2] });
