// expect: completed {"then": "not a function"}
return await tools.nasty({ kind: "then" });
