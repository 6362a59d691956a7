// expect: completed "TypeError"
const u = new Uint8Array(8); try { new TextEncoder().encodeInto({ toString() { u.buffer.transfer(); return "abc"; } }, u); return "wrote"; } catch (e) { return e.name; }
