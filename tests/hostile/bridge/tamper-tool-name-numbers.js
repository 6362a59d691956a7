// expect: completed [null, null, null]
return [tools[0] ?? null, tools[-1] ?? null, tools[2 ** 32] ?? null];
