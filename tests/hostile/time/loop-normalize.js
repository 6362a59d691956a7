// expect: failed timeout
// with: timeoutMs=100
const s = "e\u0301".repeat(100000); for (;;) s.normalize("NFC");
