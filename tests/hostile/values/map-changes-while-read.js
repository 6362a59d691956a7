// expect: completed [[1, "x"], [2, "y"]]
const m = new Map(); m.set(1, { toJSON() { m.clear(); return "x"; } }); m.set(2, "y"); return m;
