// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const a = new Array(300000).fill({ x: 1 }); let k = []; for (;;) k.push(structuredClone(a));
