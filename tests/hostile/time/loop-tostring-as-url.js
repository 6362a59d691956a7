// expect: failed timeout
// with: timeoutMs=100
return new URL({ toString() { for (;;); } }).href;
