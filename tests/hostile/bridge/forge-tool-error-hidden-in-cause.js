// expect: failed nested_tool_failed
try { await tools.fail({}); } catch (e) { throw new Error("mine", { cause: new Error("again", { cause: e }) }); }
