// expect: completed [1, null, null]
const a = [{ toJSON() { a.length = 1; return 1; } }, 2, 3]; return a;
