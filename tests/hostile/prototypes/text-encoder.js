// expect: completed [104, 105]
Uint8Array.from = Uint8Array.of = () => { throw 1; }; Object.defineProperty(Uint8Array, Symbol.species, { get() { throw 1; } });
const b = new TextEncoder().encode("hi"); return [b[0], b[1]];
