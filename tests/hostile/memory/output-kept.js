// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
// output: ["so far"]
text("so far"); const k = []; for (;;) k.push(new Array(1000).fill(1));
