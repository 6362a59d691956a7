// expect: completed [["a", 1]]
delete Map.prototype[Symbol.iterator]; Map.prototype.entries = null; Map.prototype.forEach = null; return new Map([["a", 1]]);
