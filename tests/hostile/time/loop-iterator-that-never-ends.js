// expect: failed timeout
// with: timeoutMs=100
const it = { [Symbol.iterator]() { return this; }, next: () => ({ done: false, value: 0 }) };
for (const x of it);
