// expect: completed "ok"
// with: memoryLimitBytes=8388608
for (let i = 0; i < 40; i++) { const s = "x".repeat(1e6) + i; if (!s) return; }
return "ok";
