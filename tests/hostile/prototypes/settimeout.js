// expect: completed 1
try { globalThis.setTimeout = () => { throw 1; }; } catch {} return await new Promise((r) => setTimeout(() => r(1)));
