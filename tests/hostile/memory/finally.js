// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
try { const k = []; for (;;) k.push([k.length]); } finally { return "escaped"; }
