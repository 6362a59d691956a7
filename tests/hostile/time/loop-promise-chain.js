// expect: failed timeout
// with: timeoutMs=100
const spin = () => Promise.resolve().then(spin, spin); await spin();
