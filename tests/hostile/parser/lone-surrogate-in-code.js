// expect: failed invalid_input
// with: escaped
return <U+DC00>;
