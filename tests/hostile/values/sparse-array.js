// expect: completed [null, null, 1]
return [, , 1];
