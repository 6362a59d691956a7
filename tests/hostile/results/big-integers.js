// expect: completed true
return Number.isFinite((await tools.nasty({ kind: "integers" }))[0]);
