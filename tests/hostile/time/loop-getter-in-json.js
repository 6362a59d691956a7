// expect: failed timeout
// with: timeoutMs=100
json([{ get x() { for (;;); } }]);
