// expect: failed invalid_input
// why: the HTML-like comments of old scripts are no part of a function body here
return 1; <!-- the rest of this line
