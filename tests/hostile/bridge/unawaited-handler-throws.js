// expect: failed guest_error
tools.echo({ value: 1 }).then(() => { throw new Error("late"); }); return 1;
