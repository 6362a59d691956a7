// expect: completed null
;;;;
