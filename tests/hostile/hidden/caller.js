// expect: completed
const f = function () { try { return f.caller; } catch { return null; } }; return f() ?? null;
