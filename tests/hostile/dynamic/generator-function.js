// expect: completed [1, 2]
const G = (function* () {}).constructor; return [...new G("yield 1; yield 2")()];
