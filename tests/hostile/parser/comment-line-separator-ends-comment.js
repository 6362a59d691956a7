// expect: completed 1
// with: escaped
// a comment<U+2028>return 1;
