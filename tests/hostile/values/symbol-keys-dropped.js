// expect: completed {"a": 1}
return { a: 1, [Symbol("s")]: 2 };
