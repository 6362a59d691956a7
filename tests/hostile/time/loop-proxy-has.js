// expect: failed timeout
// with: timeoutMs=100
return "x" in new Proxy({}, { has() { for (;;); } });
