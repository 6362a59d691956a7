// expect: completed [[["a", 1]], [2]]
const m = new Map([["a", 1]]), s = new Set([2]);
for (const t of [Map, Set]) for (const k of Object.getOwnPropertyNames(t.prototype)) if (k !== "constructor") Object.defineProperty(t.prototype, k, { value: () => { throw 1; }, configurable: true });
return [m, s];
