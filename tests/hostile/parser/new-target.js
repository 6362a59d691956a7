// expect: failed invalid_input
return new.target;
