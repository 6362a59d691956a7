// expect: completed "\u2028\u2029\u0000\u007f"
return await tools.echo({ value: "\u2028\u2029\0\x7f" });
