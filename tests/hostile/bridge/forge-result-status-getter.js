// expect: completed {"a": 1}
return Object.defineProperty({ a: 1 }, "status", { value: "failed", enumerable: false });
