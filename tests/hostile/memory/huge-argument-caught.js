// expect: completed "RangeError"
return await tools.echo({ value: "x".repeat(2e7) }).catch((e) => e.name);
