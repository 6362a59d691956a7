// expect: completed 1
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => "forged"; return await tools.echo({ value: 1 });
