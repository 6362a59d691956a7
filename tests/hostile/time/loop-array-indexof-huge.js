// expect: failed timeout
// with: timeoutMs=100
return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);
