// expect: completed "local fs"
function require(name) { return "local " + name; } return require("fs");
