// expect: completed false
// why: each run has a VM of its own; the second run of this text would see the first one's mark
const had = "mark" in globalThis; globalThis.mark = 1; return had;
