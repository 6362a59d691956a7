// expect: completed "ok"
const a = Array.from({ length: 1000 }, (_, i) => 1000 - i); a.sort((x, y) => { a.length = 0; return x - y; }); return "ok";
