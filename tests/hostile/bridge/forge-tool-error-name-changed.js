// expect: failed nested_tool_failed
try { await tools.fail({}); } catch (e) { e.name = "Innocent"; e.code = "fine"; delete e.data; throw e; }
