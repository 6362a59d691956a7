// expect: failed output_limit_exceeded
return await tools.nasty({ kind: "big" });
