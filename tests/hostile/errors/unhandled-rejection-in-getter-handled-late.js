// expect: completed {"a": 1}
return { get a() { const p = Promise.reject(new Error("not lost")); (async () => { await null; p.catch(() => {}); })(); return 1; } };
