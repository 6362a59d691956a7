// expect: failed invalid_input
yield 1;
