// expect: completed {"a": "[Threw: no]"}
return { get a() { throw new Error("no"); } };
