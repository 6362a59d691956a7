// expect: completed null
const a = 1; return