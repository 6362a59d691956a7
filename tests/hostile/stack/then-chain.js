// expect: completed 30000
let p = Promise.resolve(0); for (let i = 0; i < 30000; i++) p = p.then((n) => n + 1); return await p;
