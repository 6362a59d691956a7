// expect: completed 1
// calls: ["echo ok", "echo ok"]
// why: what a drained call sets off is drained too
tools.echo({ value: 1 }).then(() => tools.echo({ value: 2 })); return 1;
