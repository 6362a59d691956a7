// expect: completed "p fs"
return ((require) => require("fs"))((n) => "p " + n);
