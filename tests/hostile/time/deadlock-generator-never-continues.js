// expect: failed guest_error
const g = (async function* () { await new Promise(() => {}); })(); await g.next();
