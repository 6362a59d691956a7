// expect: failed invalid_input
with ({ a: 1 }) { return a; }
