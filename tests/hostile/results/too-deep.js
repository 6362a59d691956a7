// expect: completed "tool_error"
return await tools.nasty({ kind: "too_deep" }).then(() => "deep", (e) => e.code);
