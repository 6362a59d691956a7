// expect: failed invalid_input
return /a/gg;
