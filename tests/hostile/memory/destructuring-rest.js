// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let a = [1, 2]; const k = []; for (;;) { const [x, ...rest] = a; k.push(rest); a = [...rest, 1, 2, 3]; }
