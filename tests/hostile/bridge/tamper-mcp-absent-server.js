// expect: failed guest_error
return await MCP.github.createIssue({});
