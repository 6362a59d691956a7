// expect: failed invalid_input
return /abc
