// expect: failed invalid_input
// with: escaped
return 1;<U+0000>