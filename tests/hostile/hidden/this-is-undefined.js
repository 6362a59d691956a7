// expect: completed "undefined"
return typeof this;
