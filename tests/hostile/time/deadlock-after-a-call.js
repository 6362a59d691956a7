// expect: failed guest_error
// calls: ["echo ok"]
await tools.echo({ value: 1 }); /* half-way */ await new Promise(() => {});
