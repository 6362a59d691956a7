// expect: failed timeout
// with: timeoutMs=100
return 1 instanceof { [Symbol.hasInstance]() { for (;;); } };
