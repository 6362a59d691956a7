// expect: completed "[Uint8Array of 0 bytes]"
const u = new Uint8Array(8); u.buffer.transfer(); return u;
