// expect: completed 1
let p = Promise.resolve(1); for (let i = 0; i < 20000; i++) { const q = p; p = new Promise((r) => r(q)); } return await p;
