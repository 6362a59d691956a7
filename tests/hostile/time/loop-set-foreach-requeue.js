// expect: failed timeout
// with: timeoutMs=100
const s = new Set([1]); s.forEach((v) => { s.delete(v); s.add(v + 1); });
