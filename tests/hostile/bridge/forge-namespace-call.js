// expect: completed "unknown_tool"
return await tools.call("namespace:x:y", {}).catch((e) => e.code);
