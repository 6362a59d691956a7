// expect: completed {"constructor": {"prototype": {"x": 1}}}
return await tools.echo({ value: { constructor: { prototype: { x: 1 } } } });
