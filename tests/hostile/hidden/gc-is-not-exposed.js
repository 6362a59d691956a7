// expect: completed "undefined"
return typeof gc;
