// expect: completed []
return new Proxy([], { get: (t, k) => (k === "length" ? -5 : undefined) });
