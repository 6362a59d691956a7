// expect: completed 1
return await tools.echo.call({ forged: true }, { value: 1 });
