// expect: completed 5000000
return (await tools.nasty({ kind: "big" })).length;
