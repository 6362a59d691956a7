// expect: failed guest_error
for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });
