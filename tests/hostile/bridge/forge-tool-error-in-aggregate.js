// expect: failed nested_tool_failed
await Promise.any([tools.fail({}), tools.fail({})]);
