// expect: completed [null, 1]
Object.prototype[0] = "forged"; const a = [, 1]; delete Object.prototype[0]; return a;
