// expect: completed null
return undefined;
