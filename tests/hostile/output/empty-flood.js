// expect: failed output_limit_exceeded
// why: empty items weigh nothing by bytes, but each is a message
for (;;) text("");
