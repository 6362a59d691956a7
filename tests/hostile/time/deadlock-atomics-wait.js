// expect: failed guest_error
// why: waiting would block the whole VM
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
