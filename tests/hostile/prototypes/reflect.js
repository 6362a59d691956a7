// expect: completed {"k": 2}
for (const k of ["ownKeys", "get", "set", "apply", "construct", "defineProperty"]) Reflect[k] = () => { throw new Error(k); };
delete globalThis.Reflect; return await tools.echo({ value: { k: 2 } });
