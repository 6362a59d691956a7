// expect: completed 1
setTimeout(() => { throw new Error("late"); }, 50000); return 1;
