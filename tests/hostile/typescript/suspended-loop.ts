// expect: failed timeout
// with: timeoutMs=100
const p: Promise<number> = tools.echo({ value: 1 }) as Promise<number>; await p; /* half-way */ for (;;);
