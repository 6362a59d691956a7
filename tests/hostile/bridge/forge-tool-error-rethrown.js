// expect: failed nested_tool_failed
// error: refused
try { await tools.fail({}); } catch (e) { throw e; }
