// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let s = "xy"; for (;;) { s += s; s.charCodeAt(s.length - 1); }
