// expect: completed null
return await tools.echo();
