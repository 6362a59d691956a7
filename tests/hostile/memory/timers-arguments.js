// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
for (let i = 0; i < 1000; i++) setTimeout(() => {}, 60000, new Array(10000).fill(i));
