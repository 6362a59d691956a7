// expect: completed false
// with: memoryLimitBytes=8388608
// why: quantifiers are counted and not unrolled
return /(?:(?:(?:a{1000}){1000}){1000})/.test("a");
