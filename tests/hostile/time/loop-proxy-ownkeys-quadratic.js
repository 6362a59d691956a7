// expect: failed timeout
// with: timeoutMs=100
// why: the engine compares each key with all before it
const keys = Array.from({ length: 30000 }, (_, i) => "k" + i); const p = new Proxy({}, { ownKeys: () => keys });
for (;;) Reflect.ownKeys(p);
