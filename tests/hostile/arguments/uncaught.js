// expect: failed nested_tool_failed
await tools.echo({ valeu: 1 });
