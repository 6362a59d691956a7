// expect: completed 1
return await eval("tools.echo({ value: 1 })");
