// expect: completed ["invalid_arguments", "invalid_arguments", "invalid_arguments"]
return await Promise.all([5, "x", [1]].map((a) => tools.echo(a).catch((e) => e.code)));
