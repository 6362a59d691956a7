// expect: failed timeout
// with: timeoutMs=100
const s = "[".repeat(300) + "]".repeat(300); for (;;) JSON.parse(s);
