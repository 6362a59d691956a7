// expect: completed "a\u2028b"
// with: escaped
return "a<U+2028>b";
