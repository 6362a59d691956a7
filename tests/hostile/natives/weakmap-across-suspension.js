// expect: completed "v"
const k = {}, m = new WeakMap([[k, "v"]]); /* half-way */ return m.get(k);
