// expect: failed too_many_pending_tool_calls
try { await Promise.all(Array.from({ length: 50 }, () => tools.echo({ value: 1 }))); } catch { return "escaped"; }
