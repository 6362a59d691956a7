// expect: failed guest_error
// with: memoryLimitBytes=8388608
// error: string too long
// why: a rope of itself costs nothing; its length has a limit of its own
let s = "x"; for (;;) s += s;
