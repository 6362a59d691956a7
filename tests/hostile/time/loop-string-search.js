// expect: failed timeout
// with: timeoutMs=100
// why: the engine tries each place and compares up to half of the text there
const s = "ab".repeat(2000000); return s.indexOf(s.slice(0, 2000000) + "x");
