// expect: failed too_many_pending_tool_calls
await Promise.all([...Array(10).fill().map(() => tools.search("echo")), ...Array(10).fill().map(() => tools.describe("echo"))]);
