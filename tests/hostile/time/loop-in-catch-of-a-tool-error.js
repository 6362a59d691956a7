// expect: failed timeout
// with: timeoutMs=100
try { await tools.fail({}); } catch { for (;;); }
