// expect: failed guest_error
// error: Atomics is not defined
Atomics.add(new Int32Array(2), 0, 5);
