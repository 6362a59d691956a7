// expect: completed
return [1].values();
