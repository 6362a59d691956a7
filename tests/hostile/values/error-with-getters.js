// expect: completed {"name": "Error", "message": ""}
const e = new Error("m"); Object.defineProperty(e, "name", { get() { throw 1; } }); Object.defineProperty(e, "message", { get() { for (;;); } }); return e;
