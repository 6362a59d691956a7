// expect: completed [{"polluted": 1}, "undefined", true]
const r = await tools.nasty({ kind: "proto" });
return [Object.getOwnPropertyDescriptor(r, "__proto__").value, typeof {}.polluted, Object.getPrototypeOf(r) === Object.prototype];
