// expect: completed
return new Array(5000).fill(NaN);
