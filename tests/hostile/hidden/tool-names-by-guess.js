// expect: completed [false, false, false, false, false]
return ["__proto__", "constructor", "toString", "hasOwnProperty", "then"].map((k) => k in tools);
