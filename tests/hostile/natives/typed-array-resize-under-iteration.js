// expect: completed true
const b = new ArrayBuffer(64, { maxByteLength: 64 }), u = new Uint8Array(b); let n = 0; for (const x of u) { if (n++ === 3) b.resize(8); } return n <= 64;
