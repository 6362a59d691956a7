// expect: completed [1, 2, 3]
const o = { require: () => 1, import: () => 2, export: 3 }; return [o.require("x"), o.import("fs"), o.export];
