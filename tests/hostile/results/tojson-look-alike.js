// expect: completed {"toJSON": "x"}
return await tools.nasty({ kind: "tojson" });
