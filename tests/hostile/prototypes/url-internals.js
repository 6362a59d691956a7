// expect: completed "https://h/p?a=1"
for (const t of [String, Array, RegExp, Map, Object]) for (const k of Object.getOwnPropertyNames(t.prototype)) if (k !== "constructor") try { t.prototype[k] = () => { throw new Error(k); }; } catch {}
return new URL("https://h/p?a=1").href;
