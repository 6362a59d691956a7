// expect: failed guest_error
// why: only errors that a call caused are a tool's; a look-alike is the program's own
const e = new Error("No tool"); e.name = "ToolError"; e.code = "tool_error"; e.data = {}; throw e;
