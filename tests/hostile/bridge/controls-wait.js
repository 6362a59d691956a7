// expect: completed "unknown_tool"
return await tools.call("wait", { runId: "x" }).catch((e) => e.code);
