// expect: failed nested_tool_failed
// with: memoryLimitBytes=8388608
// error: over the limit of 8388608
return (await tools.nasty({ kind: "huge" })).length;
