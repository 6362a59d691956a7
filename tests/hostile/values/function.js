// expect: completed "[Function f]"
return function f() {};
