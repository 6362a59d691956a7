// expect: failed invalid_input
return super.x;
