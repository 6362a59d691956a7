// expect: completed "undefined"
const secret = 1; return (0, eval)("typeof secret");
