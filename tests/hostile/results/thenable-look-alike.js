// expect: completed "not a function"
return (await tools.nasty({ kind: "then" })).then;
