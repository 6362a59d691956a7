// expect: completed true
// why: numbers that look drawn and are all zero would be somebody's key
const r = new Uint8Array(new ArrayBuffer(0, { maxByteLength: 64 }));
r.buffer.resize(64); /* half-way */
crypto.getRandomValues(r);
return r.some((x) => x);
