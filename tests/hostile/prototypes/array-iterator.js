// expect: completed [1]
Array.prototype[Symbol.iterator] = function* () { yield "forged"; };
Object.getPrototypeOf([].values()).next = () => ({ done: true });
return await tools.echo({ value: [1] });
