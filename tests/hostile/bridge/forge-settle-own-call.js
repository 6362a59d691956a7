// expect: completed "real"
// why: a program holds only the promise; nothing it can reach settles it
const p = tools.echo({ value: "real" }); try { p.resolve?.("forged"); Promise.prototype.resolve?.call(p, "forged"); } catch {}
return await p;
