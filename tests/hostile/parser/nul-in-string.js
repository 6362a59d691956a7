// expect: completed 3
// with: escaped
return "a<U+0000>b".length;
