// expect: completed "\ufffdx"
return await tools.echo({ value: "\udc00x" });
