// expect: completed {"a": 1}
Object.prototype[Symbol.toPrimitive] = () => { throw 1; }; return await tools.echo({ value: { a: 1 } });
