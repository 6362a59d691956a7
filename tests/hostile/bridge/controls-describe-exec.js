// expect: completed ["unknown_tool", "unknown_tool"]
return await Promise.all(["exec", "wait"].map((n) => tools.describe(n).catch((e) => e.code)));
