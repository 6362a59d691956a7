// expect: completed true
// why: whatever a tool returns, its call settles with JSON or with an error
const r = await Promise.all(["nan", "bytes", "cycle", "surrogate", "object"].map((kind) => tools.nasty({ kind }).then(() => "ok", (e) => e.code)));
return r.every((x) => x === "ok" || x === "tool_error");
