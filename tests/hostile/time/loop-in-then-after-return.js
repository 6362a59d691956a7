// expect: failed timeout
// with: timeoutMs=100
// why: a call that was never awaited is drained, and its handlers run within the budget
tools.echo({ value: 1 }).then(() => { for (;;); }); return 1;
