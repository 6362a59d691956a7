// expect: completed [0, 1, 2, 3, 4]
return await Promise.all([0, 1, 2, 3, 4].map((i) => tools.echo({ value: i })));
