// expect: completed ["refused", "tool_error", "ToolError"]
for (const k of ["name", "message", "code", "data", "cause", "stack"]) Object.prototype[k] = "forged";
try { await tools.fail({}); } catch (e) { return [e.message, e.code, e.name]; }
