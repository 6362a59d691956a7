// A program is the body of an async function, in every engine. A file of its own, because a thread that loads it
// for each leg should load nothing else.
export const asFunction = (program) => `(async () => { ${program}\n})()`;
