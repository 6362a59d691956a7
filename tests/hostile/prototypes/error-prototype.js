// expect: completed ["refused", "tool_error"]
Error.prototype.toString = () => "forged"; Object.defineProperty(Error.prototype, "message", { get() { return "forged"; } });
try { await tools.fail({}); } catch (e) { return [e.message, e.code]; }
