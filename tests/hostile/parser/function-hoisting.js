// expect: completed 1
return f(); function f() { return 1; }
