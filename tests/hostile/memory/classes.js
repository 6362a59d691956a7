// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
const k = []; for (;;) k.push(class A { static x = [1, 2, 3]; #y = 1; m() { return this.#y; } });
