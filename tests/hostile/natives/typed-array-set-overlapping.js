// expect: completed [1, 1, 2, 3]
const u = new Uint8Array([1, 2, 3, 4]); u.set(u.subarray(0, 3), 1); return [...u];
