// expect: completed 5
return tools.echo.constructor("return 2 + 3")();
