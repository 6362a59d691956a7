// expect: failed nested_tool_failed
// calls: ["fail error"]
tools.fail({}); return 1;
