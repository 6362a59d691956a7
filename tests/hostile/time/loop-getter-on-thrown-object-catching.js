// expect: failed timeout
// with: timeoutMs=100
throw { get message() { for (;;) { try { for (;;); } catch {} } } };
