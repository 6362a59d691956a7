// expect: completed
// value: contains Threw
Object.defineProperty(RegExp.prototype, "flags", { get() { throw new Error("no"); } }); return /a/;
