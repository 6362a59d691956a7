// expect: failed timeout
// with: timeoutMs=100
// output: ["before", {"n": 1}]
// why: output produced before a failure is kept, also on timeout
text("before"); json({ n: 1 }); for (;;);
