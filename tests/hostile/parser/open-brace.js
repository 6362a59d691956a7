// expect: failed invalid_input
if (true) { return 1;
