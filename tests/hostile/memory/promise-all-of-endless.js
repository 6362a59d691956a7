// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
await Promise.all((function* () { for (;;) yield 1; })());
