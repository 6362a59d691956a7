// expect: completed {"\ufffd": 1}
return { "\ud834": 1 };
