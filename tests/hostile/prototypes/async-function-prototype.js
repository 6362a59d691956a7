// expect: completed 1
const A = (async () => {}).constructor; A.prototype.then = () => {}; Object.setPrototypeOf(A.prototype, null); return await (async () => 1)();
