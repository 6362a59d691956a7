// expect: completed [1, "s", true, "5"]
return [new Number(1), new String("s"), new Boolean(true), Object(5n)];
