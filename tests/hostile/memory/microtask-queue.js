// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
for (;;) queueMicrotask(() => {});
