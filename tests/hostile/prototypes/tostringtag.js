// expect: completed {"a": 1}
Object.prototype[Symbol.toStringTag] = "Promise"; return { a: 1 };
