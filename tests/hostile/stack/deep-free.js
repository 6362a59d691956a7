// expect: completed "freed"
// why: freeing a long chain must not recurse
let a = null; for (let i = 0; i < 300000; i++) a = { a }; a = null; return "freed";
