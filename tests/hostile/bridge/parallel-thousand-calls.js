// expect: failed too_many_pending_tool_calls
// calls: []
await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.echo({ value: i })));
