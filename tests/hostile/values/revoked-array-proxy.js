// expect: completed
// value: contains Threw
const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return [proxy];
