// expect: completed [true, true, true, "invalid_arguments"]
const ok = async (limit) => (await tools.search("echo", { limit })).length <= 50;
return [await ok(1e308), await ok(-5), await ok(0), await tools.search("echo", { limit: "9" }).catch((e) => e.code)];
