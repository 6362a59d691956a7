// expect: failed guest_error
const p = Promise.reject(new Error("x")); p.then(() => {}); p.catch(() => {}); return 1;
