// expect: completed null
// output: ["real"]
try { console.log = () => {}; } catch {} console.log("real");
