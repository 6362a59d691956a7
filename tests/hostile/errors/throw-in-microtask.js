// expect: failed guest_error
queueMicrotask(() => { throw new Error("micro"); }); await tools.echo({ value: 1 }); return 1;
