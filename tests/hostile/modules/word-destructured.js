// expect: completed 7
const { require } = { require: (x) => 7 }; return require("fs");
