// expect: failed invalid_input
return 1; /* never closed