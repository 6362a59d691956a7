// expect: failed timeout
// with: timeoutMs=100
// why: this native loop does not poll; the watchdog ends it
return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
