// expect: completed {"a": 1}
const o = { get a() { delete o.b; return 1; }, b: 2 }; return o;
