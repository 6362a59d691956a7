// expect: completed "ok"
const b = new ArrayBuffer(1 << 16, { maxByteLength: 1 << 16 }), u = new Uint8Array(b); try { u.fill({ valueOf() { b.resize(0); return 1; } }); } catch {} return "ok";
