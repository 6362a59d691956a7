// expect: completed 6
globalThis.Promise = function () { throw new Error("taken"); }; return await tools.echo({ value: 6 });
