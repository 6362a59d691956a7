// expect: failed nested_tool_failed
await tools.call("exec", { code: "for(;;);" });
