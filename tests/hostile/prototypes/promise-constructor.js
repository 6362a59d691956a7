// expect: completed 7
Promise.prototype.constructor = function () { throw 1; }; return await tools.echo({ value: 7 });
