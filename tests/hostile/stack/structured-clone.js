// expect: completed null
// why: cloning is iterative
let a = []; for (let i = 0; i < 20000; i++) a = [a]; structuredClone(a);
