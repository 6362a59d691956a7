// expect: completed null
return new Date(NaN);
