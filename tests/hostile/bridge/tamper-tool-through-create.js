// expect: completed 3
return await Object.create(tools).echo({ value: 3 });
