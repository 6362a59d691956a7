// expect: failed invalid_input
eval = 1;
