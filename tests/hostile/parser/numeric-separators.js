// expect: completed 1000000
return 1_000_000;
