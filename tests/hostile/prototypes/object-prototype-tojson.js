// expect: completed "mine"
// why: a user toJSON is honoured, and it is the program that put it there
Object.prototype.toJSON = () => "mine"; return { a: 1 };
