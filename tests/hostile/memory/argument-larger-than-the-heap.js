// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const o = { get value() { return { toJSON: () => new Array(1e5).fill({ a: "x".repeat(1000) }) }; } };
return await tools.echo(o);
