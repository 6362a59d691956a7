// expect: completed 1
type A = import("a").B; const a: A = 1 as any; return a;
