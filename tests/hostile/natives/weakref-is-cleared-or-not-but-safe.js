// expect: completed "object"
const w = new WeakRef({}); for (let i = 0; i < 1e5; i++) ({}); /* half-way */ return typeof (w.deref() ?? {});
