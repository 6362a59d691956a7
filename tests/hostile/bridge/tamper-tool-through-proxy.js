// expect: completed 2
return await new Proxy(tools, {}).echo({ value: 2 });
