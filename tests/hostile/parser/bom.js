// expect: completed 1
// with: straight escaped
<U+FEFF>return 1;
