// expect: completed null
for (const x of [NaN, -1, 2 ** 32, 2 ** 53, "1", null, {}, Symbol("x"), 1n, [], () => {}, Infinity]) clearTimeout(x);
