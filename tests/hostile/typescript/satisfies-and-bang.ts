// expect: completed 7
const o = { a: 7 } satisfies Record<string, number>; return o!.a!;
