// expect: completed true
// why: results arrive as plain arrays of the guest, whatever stands behind their prototype
Object.setPrototypeOf(Array.prototype, new Proxy({}, { get(t, k) { if (k !== "then") throw new Error("asked for " + String(k)); }, has() { throw 1; }, set() { throw 1; } }));
return (await tools.nasty({ kind: "integers" })).length === 3;
