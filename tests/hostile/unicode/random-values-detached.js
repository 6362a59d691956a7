// expect: completed "ok"
const u = new Uint8Array(8); u.buffer.transfer(); try { crypto.getRandomValues(u); } catch {} return "ok";
