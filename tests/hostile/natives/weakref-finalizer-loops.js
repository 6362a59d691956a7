// expect: completed 1
let n = 0; const r = new FinalizationRegistry(() => { n++; if (n < 100) r.register({}, n); }); r.register({}, 0); for (let i = 0; i < 20000; i++) ({ i }); return 1;
