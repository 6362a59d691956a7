// expect: failed timeout
// with: timeoutMs=100
for (const x of (function* () { for (;;) yield 1; })());
