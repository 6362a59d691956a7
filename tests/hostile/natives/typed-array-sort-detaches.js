// expect: completed "ok"
const u = new Uint8Array(1000).map((_, i) => 255 - i); try { u.sort((a, b) => { u.buffer.detached || u.buffer.transfer(); return a - b; }); } catch {} return "ok";
