// expect: failed invalid_input
const x = 1;
--> a comment
return x;
