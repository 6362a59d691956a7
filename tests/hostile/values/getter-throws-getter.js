// expect: completed {"a": "[Threw]"}
return { get a() { throw { get message() { throw 1; } }; } };
