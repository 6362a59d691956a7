// expect: completed [1, 2]
for (const k of ["value", "get", "set", "writable", "enumerable", "configurable"])
  Object.defineProperty(Object.prototype, k, { __proto__: null, get() { throw new Error("read " + k); }, configurable: true });
const r = await tools.call("echo", JSON.parse('{"value": [1, 2]}')); return r;
