// expect: failed timeout
// with: timeoutMs=100
{ using x = { [Symbol.dispose]() { for (;;); } }; }
