// expect: completed [1]
Array.isArray = () => false; Array.from = () => "forged"; return await tools.echo({ value: [1] });
