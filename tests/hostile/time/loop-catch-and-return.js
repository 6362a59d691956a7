// expect: failed timeout
// with: timeoutMs=100
try { for (;;); } catch { return "escaped"; }
