// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
// why: the guest cannot catch it
try { const keep = []; for (;;) keep.push(new Array(1e5).fill(0)); } catch { return "escaped"; }
