// expect: completed "undefined"
Object.defineProperty(Object.prototype, "polluted", { get() { return undefined; }, configurable: true });
const r = await tools.nasty({ kind: "proto" }); return typeof r.polluted;
