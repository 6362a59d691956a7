// expect: completed [null, null, null, 0, 1e21, 5e-324]
return [NaN, Infinity, -Infinity, -0, 1e21, 5e-324];
