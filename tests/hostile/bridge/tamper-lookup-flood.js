// expect: completed 3000
let n = 0; for (let i = 0; i < 3000; i++) if (tools["nope" + i] === undefined) n++; return n;
