// expect: failed invalid_input
// with: escaped
return "<U+D800>";
