// expect: failed timeout
// with: timeoutMs=100
// calls: ["echo ok"]
// why: the effect ledger is in every result
await tools.echo({ value: 1 }); /* half-way */ for (;;);
