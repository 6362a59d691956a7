// expect: completed 9
Object.defineProperty(Promise, Symbol.species, { get() { throw 1; } }); return await tools.echo({ value: 9 });
