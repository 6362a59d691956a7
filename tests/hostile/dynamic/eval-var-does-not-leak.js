// expect: completed "undefined"
eval("var leaked = 1"); return typeof leaked;
