// expect: completed "invalid_arguments"
return await tools.echo(JSON.parse('{"__proto__": {"value": 1}}')).catch((e) => e.code);
