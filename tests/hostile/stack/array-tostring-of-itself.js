// expect: completed ""
const a = []; a.push(a); try { return String(a); } catch (e) { return ""; }
