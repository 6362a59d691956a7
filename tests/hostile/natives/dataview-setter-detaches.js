// expect: failed guest_error
const b = new ArrayBuffer(8); new DataView(b).setUint32(0, { valueOf() { b.transfer(); return 1; } });
