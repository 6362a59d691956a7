// expect: completed 600000
// why: brackets in a text are no parts
return (await tools.echo({ value: "[{".repeat(300000) })).length;
