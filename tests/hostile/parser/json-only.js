// expect: completed null
({ "a": 1 });
