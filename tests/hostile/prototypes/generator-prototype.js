// expect: completed [1, 2]
const G = Object.getPrototypeOf(function* () {}); G.prototype.next = () => ({ done: true }); return await tools.echo({ value: [1, 2] });
