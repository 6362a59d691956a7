// expect: completed {"a": "again"}
return { a: { toJSON: () => "again" } };
