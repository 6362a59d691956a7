// expect: completed ["unknown_tool", "unknown_tool", "unknown_tool", "unknown_tool"]
return await Promise.all(["tool_search_code", "tool_search", "tool_describe", "tool_call"].map((n) => tools.call(n, {}).catch((e) => e.code)));
