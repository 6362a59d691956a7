// expect: completed
// why: the global object is a value like any other; only what fits is told
return Object.keys(globalThis).length > 0;
