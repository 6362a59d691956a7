// expect: failed timeout
// with: timeoutMs=100
text({ get x() { for (;;); } });
