// expect: completed 1
/* }); */ return 1; // }})
