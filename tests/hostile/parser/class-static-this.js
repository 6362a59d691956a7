// expect: completed "function"
class A { static t = typeof this; } return A.t;
