// expect: failed nested_tool_failed
tools.echo({ value: 1 }); tools.fail({}); tools.echo({ value: 2 }); return 1;
