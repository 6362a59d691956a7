// expect: completed [0]
const a = [{ toJSON() { for (let i = 0; i < 1000; i++) a.push(1); return 0; } }]; return a;
