// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return Array.from((function* () { for (;;) yield 0; })()).length;
