// expect: completed {"k": "v"}
for (const k of Object.getOwnPropertyNames(Object)) if (typeof Object[k] === "function" && k !== "prototype") try { Object[k] = () => { throw new Error(k); }; } catch {}
return await tools.echo({ value: { k: "v" } });
