// expect: failed guest_error
new DataView(new ArrayBuffer(8)).getFloat64(2 ** 31 - 1);
