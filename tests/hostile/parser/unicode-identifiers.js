// expect: completed 3
const ünïcödé = 1, \u0061bc = 2; return ünïcödé + abc;
