// expect: completed false
return /^(?:a?)*?$/.test("a".repeat(50000) + "b");
