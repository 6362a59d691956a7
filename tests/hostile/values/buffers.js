// expect: completed ["[ArrayBuffer of 4 bytes]", "[DataView of 4 bytes]", "[Float64Array of 16 bytes]"]
const b = new ArrayBuffer(4); return [b, new DataView(b), new Float64Array(2)];
