// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
return await new Promise(() => { const k = []; for (;;) k.push({}); }).catch(() => "escaped");
