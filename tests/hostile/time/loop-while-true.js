// expect: failed timeout
// with: timeoutMs=100
while (true) {}
