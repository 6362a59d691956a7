// expect: completed 1
const p = Promise.reject(new Error("x")); await tools.echo({ value: 1 }); p.catch(() => {}); return 1;
