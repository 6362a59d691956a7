// expect: completed "RangeError"
let a = []; for (let i = 0; i < 100000; i++) a = [a];
return await tools.echo({ value: a }).catch((e) => e.name);
