// expect: failed output_limit_exceeded
// with: memoryLimitBytes=8388608
// error: array of 20 ["yyyy
// why: what is over the cap is measured and not kept, so the cap is met before the heap limit
return new Array(20).fill("y".repeat(1e6));
