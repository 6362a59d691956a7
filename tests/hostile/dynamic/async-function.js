// expect: completed 2
const AsyncFunction = (async () => {}).constructor; return await new AsyncFunction("return await tools.echo({ value: 2 })")();
