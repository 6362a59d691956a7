// expect: failed timeout
// with: timeoutMs=100
const f = () => { try { for (;;); } finally { return 1; } }; return f();
