// expect: completed {"a": 1}
const o = { a: 1 }, w = new WeakRef(o); /* half-way */ return w.deref();
