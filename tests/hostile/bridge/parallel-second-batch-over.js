// expect: failed too_many_pending_tool_calls
// calls: ["echo ok"]
await tools.echo({ value: 0 }); /* half-way */ for (let i = 0; i < 40; i++) tools.echo({ value: i });
