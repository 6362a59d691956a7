// expect: failed timeout
// with: timeoutMs=100
const spin = () => queueMicrotask(spin); spin(); await new Promise(() => {});
