// expect: failed nested_tool_failed
let failed; try { await tools.fail({}); } catch (e) { failed = e; }
/* half-way */
throw new AggregateError([...Array.from({ length: 1200 }, (_, i) => new Error("other " + i)), failed]);
