// expect: completed "[Uint8Array of 3 bytes]"
const u = new Uint8Array(3); Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), "length", { get: () => 99 }); return u;
