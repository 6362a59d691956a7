// expect: completed {"a": 1}
// output: ["from the getter"]
return { get a() { text("from the getter"); return 1; } };
