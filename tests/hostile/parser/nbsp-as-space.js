// expect: completed 1
// with: escaped
return<U+00A0>1;
