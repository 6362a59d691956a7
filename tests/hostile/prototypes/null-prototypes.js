// expect: completed [1]
Object.setPrototypeOf(Array.prototype, null); Object.setPrototypeOf(Promise.prototype, null); return await tools.echo({ value: [1] });
