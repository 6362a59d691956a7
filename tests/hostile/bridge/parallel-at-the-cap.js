// expect: completed 16
return (await Promise.all(Array.from({ length: 16 }, (_, i) => tools.echo({ value: i })))).length;
