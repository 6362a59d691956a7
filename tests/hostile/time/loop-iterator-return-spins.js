// expect: failed timeout
// with: timeoutMs=100
const it = { [Symbol.iterator]() { return this; }, next: () => ({ value: 1 }), return() { for (;;); } };
for (const x of it) break;
