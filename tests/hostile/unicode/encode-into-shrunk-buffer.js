// expect: completed [2, 0, 4096]
// why: a view that follows its buffer keeps the length of its making in the engine; written to, it would reach beyond the end
const b = new ArrayBuffer(4096, { maxByteLength: 4096 }), u = new Uint8Array(b);
b.resize(2);
const { written } = new TextEncoder().encodeInto("x".repeat(4096), u);
b.resize(4096);
return [written, u.subarray(2).filter((x) => x).length, u.length];
