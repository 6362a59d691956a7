// expect: failed guest_error
// why: returning from an async function asks the value for then
const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy;
