// expect: completed {"name": "Error", "message": "x"}
// with: timeoutMs=100
// why: errors are read without running any code of the program
return new Error("x", { cause: { get a() { for (;;); } } });
