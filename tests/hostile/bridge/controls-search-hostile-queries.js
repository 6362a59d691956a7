// expect: completed [0, 0, 0]
const n = async (q) => (await tools.search(q)).length; return [await n(""), await n("\u0000\ud800"), await n("(((((((((((((((((((((((((((((((((((((((((((((((((")];
