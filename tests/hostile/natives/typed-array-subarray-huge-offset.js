// expect: failed guest_error
new Uint8Array(new ArrayBuffer(8), 2 ** 31);
