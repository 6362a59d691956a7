// expect: completed true
return typeof (await Promise.race([1, 2, 3].map((i) => tools.echo({ value: i })))) === "number";
