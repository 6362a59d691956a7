// expect: completed 5
// why: await on the engine's own promise does not ask the prototype
Promise.prototype.then = () => { throw new Error("taken"); }; return await tools.echo({ value: 5 });
