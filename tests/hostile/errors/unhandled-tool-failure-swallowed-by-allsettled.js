// expect: completed ["rejected", "fulfilled"]
return (await Promise.allSettled([tools.fail({}), tools.echo({ value: 1 })])).map((r) => r.status);
