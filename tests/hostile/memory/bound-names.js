// expect: failed memory_limit_exceeded
// why: each name is "bound " longer than the one before
let f = () => 1; for (let i = 0; i < 100000; i++) f = f.bind(null); return f();
