// expect: failed timeout
// with: timeoutMs=100
// why: reading what was thrown runs the program's code, and must be counted as computing
throw { get message() { while (1); } };
