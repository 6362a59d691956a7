// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; for (let i = 0; ; i++) k.push(new Function("return " + i));
