// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let s = "aaaaaaaaaa"; for (;;) s = s.replaceAll("a", "aaaaaaaaaa");
