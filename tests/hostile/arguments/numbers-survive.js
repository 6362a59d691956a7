// expect: completed [0, -1, 1e308, 5e-324, 9007199254740992]
return await tools.echo({ value: [0, -1, 1e308, 5e-324, 9007199254740992] });
