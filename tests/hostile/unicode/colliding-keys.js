// expect: completed
// why: both keys become the replacement character; the result stays JSON
return { "\ud800": 1, "\ud801": 2 };
