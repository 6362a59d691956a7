// expect: failed timeout
// with: timeoutMs=100
for await (const x of (async function* () { for (;;) yield 1; })());
