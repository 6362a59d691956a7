// expect: completed {"a": [1]}
for (const t of [Array, Map, Set, Reflect, Object]) for (const k of Object.getOwnPropertyNames(t)) if (typeof t[k] === "function") try { t[k] = () => { throw new Error(k); }; } catch {}
return structuredClone({ a: [1] });
