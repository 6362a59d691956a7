// expect: completed 8
Promise.resolve = () => "forged"; Promise.reject = () => "forged"; return await tools.echo({ value: 8 });
