// expect: failed module_access_denied
declare function require(x: string): any; return require("fs");
