// expect: completed 1.5
Number.prototype.toString = () => "forged"; Number.prototype.toJSON = () => 2; return await tools.echo({ value: 1.5 });
