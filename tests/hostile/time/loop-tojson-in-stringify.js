// expect: failed timeout
// with: timeoutMs=100
return JSON.stringify({ toJSON() { for (;;); } });
