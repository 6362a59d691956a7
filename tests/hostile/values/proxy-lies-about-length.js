// expect: failed timeout
// with: timeoutMs=100
return new Proxy([], { get: (t, k) => (k === "length" ? 2 ** 53 - 1 : k === "toJSON" ? undefined : 1) });
