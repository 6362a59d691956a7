// expect: failed nested_tool_failed
await using a = { async [Symbol.asyncDispose]() { throw new Error("closing failed too"); } };
await tools.fail({});
