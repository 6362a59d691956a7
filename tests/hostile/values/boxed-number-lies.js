// expect: completed 1
const n = new Number(1); n.valueOf = () => 99; n.toString = () => "forged"; return n;
