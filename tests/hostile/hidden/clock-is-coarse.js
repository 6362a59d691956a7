// expect: completed true
const t = Array.from({ length: 2000 }, () => performance.now()); return t.every((x) => Math.abs(x * 10 - Math.round(x * 10)) < 1e-6);
