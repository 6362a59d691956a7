// expect: completed [["m", "[Circular]"]]
const m = new Map(); m.set("m", m); return m;
