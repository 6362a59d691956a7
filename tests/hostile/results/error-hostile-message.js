// expect: completed ["ToolError", true]
return await tools.nasty({ kind: "error" }).catch((e) => [e.name, e.message.includes("\"},{")]);
