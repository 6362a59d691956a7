// expect: failed nested_tool_failed
let e; try { await tools.fail({}); } catch (failed) { e = failed; }
for (let i = 0; i < 150; i++) e = new Error("next", { cause: e });
throw e;
