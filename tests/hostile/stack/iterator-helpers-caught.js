// expect: completed ["RangeError", "RangeError", "RangeError", 3]
// why: the engine calls its own iterators directly, and each helper holds another
const deep = (wrap) => { let it = [1, 2].values(); for (let i = 0; i < 60000; i++) it = wrap(it); return it; };
const end = (f) => { try { f(); return "no error"; } catch (e) { return e.name; } };
const mapped = deep((it) => it.map((x) => x)), filtered = deep((it) => it.filter(() => true)); /* half-way */
const found = [end(() => mapped.next()), end(() => { for (const x of filtered); }), end(() => deep((it) => it.drop(0)).toArray())];
return [...found, [1, 2, 3].values().map((x) => x).take(3).toArray().length];
