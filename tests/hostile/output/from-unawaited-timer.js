// expect: completed 1
// output: ["main"]
setTimeout(() => text("late"), 40000); text("main"); return 1;
