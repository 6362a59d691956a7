// expect: completed {"b": 2}
const p = tools.echo({ value: { b: 2 } });
Object.defineProperty(Object.prototype, "b", { set() { throw new Error("taken"); }, configurable: true });
/* half-way */ return await p;
