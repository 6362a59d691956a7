// expect: completed "ok"
for (const r of [undefined, null, 1, {}, [], Symbol("x"), "\ud800", "x".repeat(5000), 1n]) await yield_control(r); return "ok";
