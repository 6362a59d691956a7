// expect: completed 0
return arguments.length;
