// expect: completed "undefined"
// why: the engine has none without threads
return typeof Atomics;
