// expect: completed [null, null, null]
return [new Date(8.64e15 + 1), new Date(NaN), new Date("x".repeat(100000))];
