// expect: completed null
return
42;
