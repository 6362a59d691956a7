// expect: failed memory_limit_exceeded
const f = (...a) => f(...a, 1); f();
