// expect: completed 2
// with: escaped
return<U+FEFF>2;
