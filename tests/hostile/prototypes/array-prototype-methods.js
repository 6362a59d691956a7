// expect: completed [3, 4]
for (const k of ["push", "map", "join", "slice", "concat", "forEach", "shift", "indexOf"]) Array.prototype[k] = () => { throw new Error(k); };
return await tools.echo({ value: [3, 4] });
