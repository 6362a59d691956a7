// expect: completed {"\"}],\"x\":[{\"": 1}
return await tools.echo({ value: { '"}],"x":[{"': 1 } });
