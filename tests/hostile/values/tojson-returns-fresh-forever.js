// expect: completed
// why: what toJSON returned is not asked for toJSON again
const f = () => ({ toJSON: f }); return f();
