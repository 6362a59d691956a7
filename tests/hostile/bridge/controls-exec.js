// expect: completed "unknown_tool"
return await tools.call("exec", { code: "return 1" }).catch((e) => e.code);
