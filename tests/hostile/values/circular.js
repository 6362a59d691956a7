// expect: completed {"self": "[Circular]"}
const o = {}; o.self = o; return o;
