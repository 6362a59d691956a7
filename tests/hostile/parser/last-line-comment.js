// expect: completed 1
return 1 // no line feed behind