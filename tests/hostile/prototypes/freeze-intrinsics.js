// expect: completed 4
Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(Promise.prototype); Object.freeze(Function.prototype); return await tools.echo({ value: 4 });
