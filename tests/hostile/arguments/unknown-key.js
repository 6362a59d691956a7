// expect: completed "invalid_arguments"
return await tools.echo({ valeu: 1 }).catch((e) => e.code);
