// expect: completed "unknown_tool"
return await tools.call("x".repeat(1e6)).catch((e) => e.code);
