// expect: completed [0, "A"]
Object.prototype.hasOwnProperty = (() => true) as any; enum E { A, B } return [E.A, E[0]];
