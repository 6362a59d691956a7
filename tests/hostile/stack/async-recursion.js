// expect: failed guest_error
const f = async () => { await f(); }; await f();
