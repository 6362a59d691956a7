// expect: failed timeout
// with: timeoutMs=100
return ({ get x() { for (;;); } }).x;
