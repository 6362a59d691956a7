// expect: completed "b"
const r = /a/y; r.lastIndex = { valueOf() { r.compile?.("b"); return 0; } }; return r.exec("ab")?.[0] ?? null;
