// expect: completed 199
let r = await tools.nasty({ kind: "deep" }), n = 0; while (Array.isArray(r) && r.length) { r = r[0]; n++; } return n;
