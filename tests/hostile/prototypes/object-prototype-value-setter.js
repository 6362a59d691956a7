// expect: completed {"value": 1}
Object.defineProperty(Object.prototype, "value", { set() { throw new Error("taken"); }, configurable: true });
return { ...JSON.parse('{"value": 1}') };
