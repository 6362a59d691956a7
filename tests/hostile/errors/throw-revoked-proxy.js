// expect: failed guest_error
const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy;
