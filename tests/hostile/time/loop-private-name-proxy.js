// expect: failed timeout
// with: timeoutMs=100
class A { #x = 1; static has(o) { for (;;) { try { o.#x; } catch {} } } } A.has({});
