// expect: completed "m"
class A { import() { return "m"; } require() { return this.import(); } } return new A().require("fs");
