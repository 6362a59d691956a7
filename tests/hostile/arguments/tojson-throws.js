// expect: completed "[Threw: no]"
return await tools.echo({ value: { toJSON() { throw new Error("no"); } } });
