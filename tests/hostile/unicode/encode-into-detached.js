// expect: completed {"read": 0, "written": 0}
// why: the web takes a detached buffer for an empty one
const u = new Uint8Array(8); return new TextEncoder().encodeInto({ toString() { u.buffer.transfer(); return "abc"; } }, u);
