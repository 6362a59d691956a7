// expect: completed 50000
return Object.keys(await tools.nasty({ kind: "keys" })).length;
