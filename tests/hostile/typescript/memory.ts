// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const keep: Array<number[]> = []; for (;;) keep.push(new Array<number>(1000).fill(0));
