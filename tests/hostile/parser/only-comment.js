// expect: completed null
/* nothing */
