// expect: failed invalid_input
return { get a(x) { return 1; } };
