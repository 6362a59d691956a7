// expect: completed null
let a = []; for (let i = 0; i < 100000; i++) a = [a]; text(a); console.log(a); json(a);
