// expect: failed guest_error
const b = new ArrayBuffer(8, { maxByteLength: 8 }), u = new Uint8Array(b, 4); 
return new TextDecoder().decode(u, { get stream() { b.resize(2); return false; } });
