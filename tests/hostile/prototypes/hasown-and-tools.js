// expect: completed true
Object.prototype.hasOwnProperty = () => false; Object.hasOwn = () => false; return "echo" in tools;
