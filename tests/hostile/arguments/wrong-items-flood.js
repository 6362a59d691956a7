// expect: completed "invalid_arguments"
// why: a million wrong items are one mistake, found at the first
return await tools.numbers({ values: new Array(1000000).fill("x") }).catch((e) => e.code);
