// expect: failed timeout
// with: timeoutMs=100
const w = new WeakRef({}); for (;;) w.deref();
