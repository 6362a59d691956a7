// expect: completed "a\u0000b"
return await tools.echo({ value: "a\0b" });
