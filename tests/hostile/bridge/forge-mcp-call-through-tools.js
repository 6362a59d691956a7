// expect: completed "unknown_tool"
return await tools.call("mcp:github:create_issue", {}).catch((e) => e.code);
