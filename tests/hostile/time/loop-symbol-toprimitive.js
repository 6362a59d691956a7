// expect: failed timeout
// with: timeoutMs=100
return +{ [Symbol.toPrimitive]() { for (;;); } };
