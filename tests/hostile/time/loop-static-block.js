// expect: failed timeout
// with: timeoutMs=100
class A { static { for (;;); } }
