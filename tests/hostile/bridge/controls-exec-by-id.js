// expect: completed ["unknown_tool", "unknown_tool", "unknown_tool"]
const code = (id) => tools.call(id, { code: "return 1" }).catch((e) => e.code);
return await Promise.all([code("openclaw:core:exec"), code("code_mode:exec"), code("openclaw:code-mode:exec")]);
