// expect: completed [{"a": 1}, {"a": 1}]
const o = { a: 1 }; return [o, o];
