// expect: completed [1, 2, 3]
Object.defineProperty(Array.prototype, 0, { set() { throw new Error("taken"); }, configurable: true });
return await tools.echo({ value: [1, 2, 3] });
