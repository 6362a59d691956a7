// expect: completed ["[Promise, not awaited]"]
return [tools.echo({ value: 1 })];
