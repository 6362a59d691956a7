// expect: failed timeout
// with: timeoutMs=100
// why: the engine sorts each character of a class in among those before it
const all = Array.from({ length: 60000 }, (_, i) => String.fromCodePoint(16 * i + 200)).join(""); return new RegExp(`[^${all}]`, "iu").source.length;
