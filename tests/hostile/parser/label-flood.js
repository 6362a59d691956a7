// expect: completed 1
a: b: c: d: e: f: { break a; } return 1;
