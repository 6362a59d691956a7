// expect: failed guest_error
// why: the parser's own recursion is bounded; inside eval it is an exception of the program
eval("(".repeat(200000) + ")".repeat(200000));
