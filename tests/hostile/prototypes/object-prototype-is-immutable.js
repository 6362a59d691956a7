// expect: failed guest_error
// error: TypeError
Object.setPrototypeOf(Object.prototype, new Proxy({}, {}));
