// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
new URLSearchParams({ *[Symbol.iterator]() { for (;;) yield ["a", "b"]; } });
