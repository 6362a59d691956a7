// expect: completed {"a": 1}
for (const k of ["id", "type", "method", "target", "args", "ms", "text", "level", "reason", "code", "data"]) Object.prototype[k] = "forged";
const r = await tools.echo({ value: { a: 1 } }); for (const k of Object.keys(Object.prototype)) delete Object.prototype[k]; return r;
