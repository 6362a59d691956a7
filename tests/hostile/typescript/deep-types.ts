// expect: completed 1
type D<T, N extends number = 50> = N extends 0 ? T : D<[T], 49>; const x: D<1> = 1 as any; return x;
