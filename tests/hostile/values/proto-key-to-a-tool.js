// expect: completed {"__proto__": {"x": 1}}
return await tools.echo({ value: JSON.parse('{"__proto__": {"x": 1}}') });
