// expect: completed null
// output: ["real"]
try { globalThis.text = () => {}; } catch {} try { delete globalThis.text; } catch {} text("real");
