// expect: completed "swapped"
return await tools.echo({ value: { toJSON: () => "swapped" } });
