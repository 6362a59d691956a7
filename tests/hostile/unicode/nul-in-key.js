// expect: completed {"a\u0000b": 1}
return await tools.echo({ value: { "a\0b": 1 } });
