// expect: completed 4
return <number>(<unknown>4);
