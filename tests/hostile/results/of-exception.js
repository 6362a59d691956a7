// expect: failed nested_tool_failed
await tools.nasty({ kind: "raises" });
